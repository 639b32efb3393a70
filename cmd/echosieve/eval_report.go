package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeReport writes a file as a whole or not at all. What is no plain file, such as /dev/stdout, is written to as it is.
func writeReport(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, write)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".echosieve-report-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer os.Remove(file.Name()) // of no effect once it is renamed
	err = errors.Join(write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("report %s: %w", name, err)
	}
	return nil
}

func writeInto(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(write(file), file.Close())
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
