package topology

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// misplaced is an error with its position in the description: keys, and indices of lists.
type misplaced struct {
	path []any
	err  error
}

func (m *misplaced) Error() string { return m.err.Error() }
func (m *misplaced) Unwrap() error { return m.err }

// at adds a position to err. The position that err already has is below it.
func at(err error, path ...any) error {
	if err == nil {
		return nil
	}
	var inner *misplaced
	if errors.As(err, &inner) {
		path = append(path, inner.path...)
	}
	return &misplaced{path, err}
}

// withLine adds the line in the description to an error.
func withLine(err error, data []byte) error {
	var m *misplaced
	var document yaml.Node
	if !errors.As(err, &m) || yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 {
		return err
	}
	line := 0
	node := document.Content[0]
	for _, step := range m.path {
		if node = below(node, step, &line); node == nil {
			break
		}
	}
	if line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// below returns the child of a node, and stores its line; nil if there is none.
func below(n *yaml.Node, step any, line *int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			*line = n.Content[step].Line
			return n.Content[step]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				*line = n.Content[i].Line
				return n.Content[i+1]
			}
		}
	}
	return nil
}
