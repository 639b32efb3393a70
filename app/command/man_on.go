//go:build man

package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// addManCommand adds a command that writes the manual pages of the program into a folder. Only `make release`
// builds with it: the library needs text/template, which would make the programs larger by a third; see
// printUsage.
func addManCommand(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			toMarkdown(root)
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: root.Name(), Manual: "Echosieve"},
				args[0])
		},
	})
}

// toMarkdown makes the help texts of a command and of its commands what the library takes them for. Lines
// that begin with two spaces are kept as they are, and no character is a mark.
func toMarkdown(cmd *cobra.Command) {
	var b strings.Builder
	plain := true
	for line := range strings.Lines(cmd.Long) {
		if indented := strings.HasPrefix(line, "  "); indented == plain {
			plain = !indented
			b.WriteByte('\n')
		}
		if plain {
			line = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`").Replace(line)
		} else {
			line = "    " + line
		}
		b.WriteString(line)
	}
	cmd.Long = b.String()
	for _, sub := range cmd.Commands() {
		toMarkdown(sub)
	}
}
