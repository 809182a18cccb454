package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

func (r *snapshotReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "snapshot\t%s\n", r.Location)
	if r.Bucket != nil {
		fmt.Fprintf(w, "snapshot id\t%d\n", r.CheckpointID)
		r.Bucket.print(w)
	} else {
		fmt.Fprintf(w, "checkpoint id\t%d\n", r.CheckpointID)
	}
	fmt.Fprintf(w, "kind\t%s\n", strings.TrimSpace(r.Kind+" "+r.Format))
	fmt.Fprintf(w, "metadata version\t%d\n", r.Version)
	fmt.Fprintf(w, "size\t%s\n", bytesText(r.Size))
	for _, o := range r.Operators {
		o.print(w)
	}
	if len(r.Unresolved) > 0 {
		fmt.Fprintf(w, "\nfiles that are not found\n")
	}
	for _, u := range r.Unresolved {
		fmt.Fprintf(w, "  %s\n", u)
	}
	return w.Flush()
}

func (o *operatorReport) print(w io.Writer) {
	if o.ID != "" {
		fmt.Fprintf(w, "\noperator %s\n", firstOf(o.UID, o.Name, o.ID))
		fmt.Fprintf(w, "  id\t%s\n", o.ID)
		if o.Name != "" {
			fmt.Fprintf(w, "  name\t%s\n", o.Name)
		}
		fmt.Fprintf(w, "  key groups\t%d over %d subtasks\n", o.MaxParallelism, o.Parallelism)
	} else {
		fmt.Fprintf(w, "\ntable\n") // of Fluss
	}
	if o.Backend != "" {
		fmt.Fprintf(w, "  backend\t%s\n", o.Backend)
	}
	if o.SQL != nil {
		fmt.Fprintf(w, "  sql\t%s\n", o.SQL)
	}
	fmt.Fprintf(w, "  size\t%s\n", bytesText(o.Size))
	for _, n := range o.Notes {
		fmt.Fprintf(w, "  note\t%s\n", n)
	}
	if o.Error != "" {
		fmt.Fprintf(w, "  not read\t%s\n", o.Error)
	}
	if len(o.States) == 0 {
		return
	}
	fmt.Fprintf(w, "  STATE\tKIND\tROWS\tSIZE\tKEY\tNAMESPACE\tMAP KEY\tVALUE\n")
	for _, s := range o.States {
		s.print(w)
	}
	var told []string // a fault that stands before several states is told once
	for _, s := range o.States {
		if s.Error != "" && !slices.Contains(told, s.Error) {
			told = append(told, s.Error)
			fmt.Fprintf(w, "  not read: %s\n", s.Error)
		}
	}
	for _, s := range o.States {
		if s.Holds != "" {
			fmt.Fprintf(w, "  %s\tholds %s\n", s.Name, s.Holds)
		}
	}
}

func (s *sqlReport) String() string {
	text := s.Kind + ": " + s.Does
	if s.ByState {
		text += " (by the names of its states)"
	}
	return text
}

func (s *stateReport) print(w io.Writer) {
	rows, size := "?", "?"
	if s.Rows != nil {
		rows = fmt.Sprint(*s.Rows)
	}
	if s.Size != nil {
		size = bytesText(*s.Size)
	}
	if s.Error != "" {
		rows = "not read"
	}
	value := s.Value
	if s.TTL {
		value += " (TTL)"
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, rows, size, s.Key, s.Namespace, s.MapKey, value)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	div, exp := int64(unit), 0
	for m := n / unit; m >= unit; m /= unit {
		div *= unit
		exp++
	}
	return fmt.Sprintf("%.1f %ciB", float64(n)/float64(div), "KMGTPE"[exp])
}
