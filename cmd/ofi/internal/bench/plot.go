package bench

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// This file draws results: a chart for each unit, one below the other, with a bar for each test and those of native
// tools beside it.

// CheckPlot returns an error if Plot cannot write a file of that name.
func CheckPlot(file string) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".svg", ".png":
		return nil
	}
	return fmt.Errorf("plot %q: the name must end in .svg or .png", file)
}

// plotUnits is the order of the charts.
var plotUnits = []string{"us", "Mmsg/s", "MB/s"}

var plotTitles = map[string]string{"us": "latency, us (less is better)", "Mmsg/s": "messages, million/s", "MB/s": "bandwidth, MB/s"}

// Plot draws results into an SVG or PNG file.
func Plot(file string, results []Result) error {
	if err := CheckPlot(file); err != nil {
		return err
	}
	var charts []*plot.Plot
	most := 1
	for _, unit := range plotUnits {
		var of []Result
		for _, r := range results {
			if r.Unit == unit && len(r.Ours) > 0 {
				of = append(of, r)
			}
		}
		if len(of) == 0 {
			continue
		}
		p, err := chart(plotTitles[unit], of)
		if err != nil {
			return err
		}
		charts, most = append(charts, p), max(most, len(of))
	}
	if len(charts) == 0 {
		return fmt.Errorf("plot %q: there are no results to draw", file)
	}
	return saveCharts(file, charts, vg.Length(most)*2.6*vg.Centimeter+5*vg.Centimeter)
}

var barColors = []color.Color{color.RGBA{R: 0x1b, G: 0x6c, B: 0xa8, A: 0xff}, color.RGBA{R: 0xb0, G: 0xb0, B: 0xb0, A: 0xff},
	color.RGBA{R: 0xd9, G: 0x8b, B: 0x2b, A: 0xff}}

// chart draws bars of the medians: ours, then those of each native tool.
func chart(title string, results []Result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.Y.Min = 0
	series, names := 1, make([]string, len(results))
	for i, r := range results {
		series = max(series, 1+len(r.Against))
		names[i] = fmt.Sprintf("%s\n%s\n%s", r.Stack, r.Name, sizeText(r.Test.Size))
	}
	width := 1.6 * vg.Centimeter / vg.Length(series)
	for k := range series {
		values := make(plotter.Values, len(results))
		for i, r := range results {
			switch {
			case k == 0:
				values[i] = SpreadOf(r.Values()).Median
			case k <= len(r.Against):
				values[i] = SpreadOf(r.Against[k-1].Values).Median
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, err
		}
		bars.Color = barColors[min(k, len(barColors)-1)]
		bars.LineStyle.Width = 0
		bars.Offset = width * (vg.Length(k) - vg.Length(series-1)/2)
		p.Add(bars)
		p.Legend.Add([]string{"gofabric", "native", "native fi_pingpong"}[min(k, 2)], bars)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(results))-0.4
	p.Y.Max *= 1.3 // room for the legend
	p.Legend.Top = true
	p.Legend.ThumbnailWidth = vg.Centimeter / 2
	p.Legend.Padding = vg.Millimeter
	return p, nil
}

// saveCharts writes charts one below the other.
func saveCharts(file string, charts []*plot.Plot, width vg.Length) error {
	height := vg.Length(len(charts)) * 8 * vg.Centimeter
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	for i, p := range charts {
		bottom := height - vg.Length(i+1)*8*vg.Centimeter
		p.Draw(draw.Crop(all, 0, 0, bottom, bottom+8*vg.Centimeter-height))
	}
	return writeFile(file, canvas)
}

// writeFile creates the file. It removes a file that it could not write in full.
func writeFile(file string, canvas io.WriterTo) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(file)
		return err
	}
	return nil
}
