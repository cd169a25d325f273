package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxFile is the longest description that is read, bytes.
const maxFile = 1 << 20

// file is the YAML as it is written. Faults stand among the fields of links, of their directions, and of events.
type file struct {
	Name     string            `yaml:"name"`
	Seed     uint64            `yaml:"seed"`
	MTU      int               `yaml:"mtu"`
	Nodes    []string          `yaml:"nodes"`
	Switches []string          `yaml:"switches"`
	Address  map[string]string `yaml:"addresses"` // of an interface (n1/eth0), instead of the automatic one
	Defaults Edit              `yaml:"defaults"`  // faults of all links
	Links    []fileLink        `yaml:"links"`
	Schedule []fileEvent       `yaml:"schedule"`
}

type fileLink struct {
	Between []string `yaml:"between"`
	ID      string   `yaml:"id"`
	Up      *bool    `yaml:"up"`
	AB      Edit     `yaml:"ab"`
	BA      Edit     `yaml:"ba"`
	Faults  Edit     `yaml:",inline"`
}

type fileEvent struct {
	At        string     `yaml:"at"`
	Link      string     `yaml:"link"`
	Direction string     `yaml:"direction"`
	Up        *bool      `yaml:"up"`
	Partition [][]string `yaml:"partition"`
	Heal      bool       `yaml:"heal"`
	Faults    Edit       `yaml:",inline"`
}

// Read reads a description in YAML and checks it.
func Read(r io.Reader) (*Topology, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("the description is longer than %d bytes", maxFile)
	}
	return Parse(data)
}

// Parse is Read of bytes.
func Parse(data []byte) (*Topology, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var f file
	if err := d.Decode(&f); errors.Is(err, io.EOF) {
		return nil, errors.New("the description is empty; `fabricd topology pair` prints one to begin with")
	} else if err != nil {
		return nil, err
	}
	if d.Decode(new(file)) != io.EOF {
		return nil, errors.New("the description has more than one document")
	}
	t, err := f.build()
	if err != nil {
		return nil, withLine(err, data)
	}
	return t, nil
}
