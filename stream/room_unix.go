//go:build unix

package stream

import "syscall"

// freeBytes says how much room the file system of a directory has for this user.
func freeBytes(dir string) (uint64, bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), true //nolint:unconvert // the types differ from system to system
}
