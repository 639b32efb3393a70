//go:build !man

package command

import "github.com/spf13/cobra"

// addManCommand adds nothing: only a build with the tag man has the command.
func addManCommand(*cobra.Command) {}
