package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An embedded server that goes down with its machine may lose the end of its files: an epoch's record, say, that a sink has applied already. Its publisher
// would then write another epoch under the same number, and that sink would take it for the one it knows. So the store has a generation, which ends
// with every such loss that is possible: the file "generation" holds its id and the boot of the machine during which the store is in use, or "clean" once it
// was stopped and synced. Records carry the generation, and a publisher that finds an older one starts a new chain, with a full epoch.
const (
	generationFile = "generation"
	cleanStop      = "clean"
)

// openGeneration gives the id of the store's generation, a new one when the machine went down while the store was in use.
func openGeneration(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, generationFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	boot := bootID()
	id, was, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if id == "" || was != cleanStop && was != boot {
		id = newID()
	}
	return id, writeGeneration(dir, id, boot)
}

// closeGeneration notes that the stopped store is whole on disk, which it makes sure of first.
func closeGeneration(dir, id string) error {
	if err := syncTree(filepath.Join(dir, storeDir)); err != nil {
		return err
	}
	return writeGeneration(dir, id, cleanStop)
}

func writeGeneration(dir, id, state string) error {
	name := filepath.Join(dir, generationFile)
	if err := os.WriteFile(name+".new", []byte(id+" "+state+"\n"), 0o600); err != nil {
		return err
	}
	if err := syncFile(name + ".new"); err != nil {
		return err
	}
	return os.Rename(name+".new", name) // should it get lost, the old text stands, which at worst tells of a loss that was none
}

func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return syncFile(path)
	})
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return fmt.Errorf("sync: %w", err)
	}
	return f.Close()
}

// bootID changes with each start of the machine. Where the system does not tell, it is the same for ever, and nothing is noticed.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "boot"
	}
	return strings.TrimSpace(string(b))
}
