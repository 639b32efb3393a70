// Package index is the command group index: it refills the index of the service, shows it, and forgets articles.
package index

import "github.com/spf13/cobra"

const help = `The index is what Redis keeps of the articles of one window. It belongs to one recipe and one layout:
these commands work on the index of the configuration that they are given, so give them the configuration of the
service. The service may run meanwhile.`

// Command returns the command group.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "index", Short: "Refill and show the index in Redis", Long: help}
	cmd.AddCommand(newRefillCommand(), newStatsCommand(), newLookupCommand(), newForgetCommand(), newAcceptCommand())
	return cmd
}
