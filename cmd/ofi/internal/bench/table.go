package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table prints results: a line for each test, and a line for each native tool. Ratios are ours to native's: for
// latencies a ratio below 1 is better, for the rest one above 1.
func Table(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	native, several := false, false
	for _, r := range results {
		native = native || len(r.Against) > 0
		several = several || len(r.Ours) > 1
	}
	head := "stack\ttest\tbytes\twindow\tmedian\tunit\tp50\tp99\t"
	if several {
		head += "min\tmax\t"
	}
	if native {
		head += "native\tratio\tmin\tmax\ttool\t"
	}
	fmt.Fprintln(t, head)
	for i := range results {
		row(t, &results[i], several, native)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return problems(w, results)
}

func row(t io.Writer, r *Result, several, native bool) {
	window, p50, p99, value, low, high := "-", "-", "-", "-", "-", "-"
	if r.Test.Window > 0 {
		window = fmt.Sprint(r.Test.Window)
	}
	if n := len(r.Ours); n > 0 {
		s := SpreadOf(r.Values())
		value, low, high = number(s.Median), number(s.Min), number(s.Max)
		if last := r.Ours[n-1]; last.P50 > 0 {
			p50, p99 = number(last.P50), number(last.P99)
		}
	}
	if r.Error != "" {
		value = "failed"
	}
	line := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t", r.Stack, r.Name, sizeText(r.Test.Size), window, value, r.Unit, p50, p99)
	if several {
		line += fmt.Sprintf("%s\t%s\t", low, high)
	}
	if len(r.Against) == 0 && native {
		line += "-\t-\t-\t-\t-\t"
	}
	if len(r.Against) == 0 {
		fmt.Fprintln(t, line)
		return
	}
	for i, a := range r.Against {
		if i > 0 {
			line = "\t\t\t\t\t\t\t\t"
			if several {
				line += "\t\t"
			}
		}
		nat, rat := "failed", Spread{}
		if len(a.Values) > 0 && a.Error == "" {
			nat, rat = number(SpreadOf(a.Values).Median), SpreadOf(a.Ratios)
		}
		if len(a.Ratios) == 0 {
			fmt.Fprintf(t, "%s%s\t-\t-\t-\t%s\t\n", line, nat, a.Tool)
			continue
		}
		fmt.Fprintf(t, "%s%s\t%.3f\t%.3f\t%.3f\t%s\t\n", line, nat, rat.Median, rat.Min, rat.Max, a.Tool)
	}
}

// problems lists failures, in full, and losses.
func problems(w io.Writer, results []Result) error {
	var err error
	say := func(r *Result, who, text string) {
		if _, e := fmt.Fprintf(w, "\n%s %s %s, %s: %s\n", r.Stack, r.Name, sizeText(r.Test.Size), who, text); e != nil {
			err = e
		}
	}
	for i := range results {
		r := &results[i]
		if r.Error != "" {
			say(r, "gofabric", r.Error)
		}
		if n := r.Lost(); n > 0 {
			say(r, "note", lostText(n))
		}
		for _, a := range r.Against {
			if a.Error != "" {
				say(r, a.Tool, a.Error)
			}
			if a.Note != "" {
				say(r, a.Tool, a.Note)
			}
		}
	}
	return err
}
