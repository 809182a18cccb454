package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/azure"
	"github.com/statebridge/statebridge/checkpoint/storage/cache"
	"github.com/statebridge/statebridge/checkpoint/storage/gcs"
	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/checkpoint/storage/s3"
	"github.com/statebridge/statebridge/checkpoint/storage/schemes"
	"github.com/statebridge/statebridge/checkpoint/storage/webhdfs"
	"github.com/statebridge/statebridge/config"
)

// storageSettings are the members of the config's storage, each of which is also a flag of all commands that read snapshots.
func storageSettings() (list []config.Setting) {
	for _, s := range config.Settings() {
		if strings.HasPrefix(s.Path, "storage.") {
			list = append(list, s)
		}
	}
	return list
}

// flagOf makes --storage-s3-path-style of storage.s3.path_style. The variable of both is the same.
func flagOf(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }

// registerStorage hides the flags from the help of each command, which they would fill; the root's names them.
func registerStorage(flags *pflag.FlagSet) {
	for _, s := range storageSettings() {
		flags.String(flagOf(s.Path), "", s.Doc)
		flags.Lookup(flagOf(s.Path)).Hidden = true
	}
}

// storageOverrides gives the flags that are set, by the paths of their settings.
func storageOverrides(flags *pflag.FlagSet) map[string]string {
	overrides := map[string]string{}
	for _, s := range storageSettings() {
		if f := flags.Lookup(flagOf(s.Path)); f != nil && f.Changed {
			overrides[s.Path] = f.Value.String()
		}
	}
	return overrides
}

// loadStorage is for commands without a config.
func loadStorage(flags *pflag.FlagSet) (*config.Storage, error) {
	return config.LoadStorage(os.LookupEnv, storageOverrides(flags))
}

// openStore gives the store of all that opens snapshots, with the cache before it when one is set.
func openStore(c *config.Storage) (storage.Remote, error) {
	if c.Cache == "" {
		return newStore(c), nil
	}
	s := cache.New(c.Cache, int64(c.CacheMiB)<<20, newStore(c))
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("storage.cache %s can't be used: %w", c.Cache, err)
	}
	return s, nil
}

// newStore opens nothing yet.
func newStore(c *config.Storage) storage.Remote {
	return schemes.New(schemes.Options{
		CA: c.CA, Remote: remote.Options{Requests: c.Requests},
		S3:    s3.Options{Endpoint: c.S3.Endpoint, Region: c.S3.Region, PathStyle: c.S3.PathStyle},
		GCS:   gcs.Options{Endpoint: c.GCS.Endpoint},
		Azure: azure.Options{Endpoint: c.Azure.Endpoint},
		HDFS:  webhdfs.Options{Address: c.HDFS.Address, User: c.HDFS.User, TokenFile: c.HDFS.TokenFile},
	})
}
