package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
)

// REST asks a JobManager which job runs and which of its checkpoints are complete.
type REST struct {
	Base   string // http://host:port
	Client *http.Client
}

// Reported is a checkpoint that the JobManager knows.
type Reported struct {
	checkpoint.Found
	Completed bool
}

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 16 << 20

// Job gives the wanted job, or the only one that runs.
func (r *REST) Job(ctx context.Context, wanted string) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	var answer struct {
		Jobs []struct{ ID, Status string }
	}
	if err := r.get(ctx, "/jobs", &answer); err != nil {
		return "", err
	}
	var running []string
	for _, j := range answer.Jobs {
		if j.Status == "RUNNING" {
			running = append(running, j.ID)
		}
	}
	if len(running) != 1 {
		return "", fmt.Errorf("%d jobs run at %s: set source.flink.job to the id of one", len(running), r.Base)
	}
	return running[0], nil
}

// Checkpoints lists the job's checkpoints that the JobManager remembers, savepoints left out.
func (r *REST) Checkpoints(ctx context.Context, job string) ([]Reported, error) {
	var answer struct {
		History []struct {
			ID        int64  `json:"id"`
			Status    string `json:"status"`
			Savepoint bool   `json:"is_savepoint"`
			Path      string `json:"external_path"`
			Discarded bool   `json:"discarded"`
			Ack       int64  `json:"latest_ack_timestamp"`
		} `json:"history"`
	}
	if err := r.get(ctx, "/jobs/"+url.PathEscape(job)+"/checkpoints", &answer); err != nil {
		return nil, err
	}
	var out []Reported
	for _, h := range answer.History {
		if h.Savepoint {
			continue
		}
		completed := h.Status == "COMPLETED" && !h.Discarded && h.Path != "" && !strings.HasPrefix(h.Path, "<")
		found := checkpoint.Found{Location: h.Path, Job: job, ID: h.ID, Time: time.UnixMilli(h.Ack)}
		out = append(out, Reported{found, completed})
	}
	return out, nil
}

func (r *REST) get(ctx context.Context, path string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(r.Base, "/")+path, nil)
	if err != nil {
		return err
	}
	client := r.Client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}
