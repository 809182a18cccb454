package fluss

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// metadataOf gives the _METADATA files of a fixture, in order.
func metadataOf(t testing.TB, archive string) (names []string, files [][]byte) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if path.Base(f.Name) != MetadataFile {
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		names, files = append(names, f.Name), append(files, b)
	}
	return names, files
}

func archives(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(found) == 0 {
		t.Fatal("no fixtures", err)
	}
	return found
}

func TestReadMetadata(t *testing.T) {
	for _, archive := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".zip"), func(t *testing.T) {
			var dump bytes.Buffer
			names, files := metadataOf(t, archive)
			for i, b := range files {
				m, err := ReadMetadata(names[i], b)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&dump, "%s\n  %s, id %d, snapshot %d, log offset %d, %d rows\n", names[i], m, m.TableID, m.SnapshotID, m.LogOffset, *m.RowCount)
				for _, list := range [][]File{m.Shared, m.Private} {
					for _, f := range list {
						fmt.Fprintf(&dump, "  %s %d %s\n", f.Name, f.Size, f.Path)
					}
				}
			}
			golden := strings.TrimSuffix(archive, ".zip") + ".golden"
			if *update {
				if err := os.WriteFile(golden, dump.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || !bytes.Equal(want, dump.Bytes()) {
				t.Errorf("%v\n%s", err, &dump)
			}
		})
	}
}

// whole is the least that a metadata file has.
const whole = `{"version":1,"table_id":3,"bucket_id":0,"snapshot_id":7,"snapshot_location":"s3://b/kv/shop/orders-3/0/snap-7",
"kv_snapshot_handle":{"shared_file_handles":[{"kv_file_handle":{"path":"s3://b/f","size":5},"local_path":"000008.sst"}],"private_file_handles":[],"snapshot_incremental_size":5},"log_offset":9}`

func TestMetadataRefuses(t *testing.T) {
	if _, err := ReadMetadata("whole", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string
		kind     error
		says     string
	}{
		"version":      {`"version":1`, `"version":2`, fault.ErrUnsupported, "version 2"},
		"no version":   {`"version":1,`, ``, fault.ErrCorrupt, "lacks version"},
		"two missing":  {`"table_id":3,"bucket_id":0,`, ``, fault.ErrCorrupt, "table_id, bucket_id"},
		"null handle":  {`"log_offset":9`, `"log_offset":9,"kv_snapshot_handle":null`, fault.ErrCorrupt, "lacks kv_snapshot_handle"},
		"wrong type":   {`"snapshot_id":7`, `"snapshot_id":"7"`, fault.ErrCorrupt, "snapshot_id"},
		"negative":     {`"size":5`, `"size":-5`, fault.ErrCorrupt, "-5 bytes"},
		"no path":      {`"path":"s3://b/f"`, `"path":""`, fault.ErrCorrupt, "000008.sst lies at"},
		"name climbs":  {`000008.sst`, `../000008.sst`, fault.ErrCorrupt, "no file of a database"},
		"same name":    {`"private_file_handles":[`, `"private_file_handles":[{"kv_file_handle":{"path":"s3://b/g","size":5},"local_path":"000008.sst"}`, fault.ErrCorrupt, "two files are called"},
		"more behind":  {`"log_offset":9}`, `"log_offset":9}}`, fault.ErrCorrupt, "after top-level value"},
		"a number big": {`"size":5`, `"size":5e99`, fault.ErrCorrupt, "size"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(whole, c.old, c.new, 1)
			if text == whole {
				t.Fatal("nothing was replaced")
			}
			_, err := ReadMetadata("dir/_METADATA", []byte(text))
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "dir/_METADATA") {
				t.Error(err)
			}
		})
	}
	for n := range len(whole) {
		if _, err := ReadMetadata("cut", []byte(whole[:n])); !errors.Is(err, fault.ErrTruncated) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestPlace(t *testing.T) {
	partition := int64(4)
	for location, want := range map[string]place{
		"s3://b/kv/shop/orders-3/0/snap-7":                  {"shop.orders", ""},
		"file:/data/kv/shop/my-orders-3/0/snap-7/":          {"shop.my-orders", ""},
		"s3://b/kv/shop/orders-3/2024$eu-p4/0/snap-7":       {"shop.orders", "2024$eu"},
		"s3://b/kv/shop/orders-3/a-p4-p4/0/snap-7":          {"shop.orders", "a-p4"},
		"s3://b/kv/shop/orders-3/a-p5/0/snap-7":             {"table-3", ""},
		"s3://b/kv/shop/orders-4/0/snap-7":                  {"table-3", ""},
		"s3://b/kv/shop/orders-3/1/snap-7":                  {"table-3", ""},
		"s3://b/kv/shop/orders-3/0/snap-8":                  {"table-3", ""},
		"snap-7":                                            {"table-3", ""},
		"/0/snap-7":                                         {"table-3", ""},
		"":                                                  {"table-3", ""},
		"//-3/0/snap-7":                                     {"table-3", ""},
		"s3://b/kv/shop/orders-3/-p4/0/snap-7":              {"table-3", ""},
		"orders-3/0/snap-7":                                 {"table-3", ""},
		"s3://b/kv/shop/orders-3/with space-p4/0/snap-7///": {"shop.orders", "with space"},
	} {
		m := &Metadata{TableID: 3, SnapshotID: 7, Location: location}
		if strings.Contains(location, "-p") {
			m.PartitionID = &partition
		}
		if got := m.locate(); got != want {
			t.Errorf("%s: %+v, want %+v", location, got, want)
		}
	}
}

func FuzzReadMetadata(f *testing.F) {
	f.Add([]byte(whole))
	for _, archive := range archives(f) {
		_, files := metadataOf(f, archive)
		for _, b := range files {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadMetadata("fuzz", b)
		if err != nil {
			if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		_ = m.String()
	})
}
