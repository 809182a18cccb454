package stream

import "golang.org/x/sys/windows"

// freeBytes says how much room the file system of a directory has for this user.
func freeBytes(dir string) (uint64, bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, false
	}
	return free, true
}
