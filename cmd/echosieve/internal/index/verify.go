package index

import (
	"github.com/spf13/cobra"

	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/redisindex/admin"
)

const verifyHelp = `Verify checks that every article of the index is in the block lists of its fingerprint, so that later copies find it,
and that every fingerprint in a list has an entry. Articles that a full list has lost are no fault.

With --repair articles are added to the lists that lack them. The lists of anchors are not known from the entries: index
refill restores them. Fingerprints without an entry are left: they are harmless, expire with their slice, and a
claim that is under way looks the same.

It reads the whole index, and needs the rights SCAN, DBSIZE and HGETALL.

Exit codes: 0 nothing is wrong, or it was repaired; 1 articles cannot be found, or fields are damaged; 2 failed.`

// verified is what the command verify prints.
type verified struct {
	Articles     int64 `json:"articles"`
	Unlisted     int   `json:"unlisted"` // articles that a list lacks
	Repaired     int   `json:"repaired"`
	Damaged      int   `json:"damaged_fields"`
	Fingerprints int64 `json:"fingerprints"`  // in block lists
	WithoutEntry int   `json:"without_entry"` // of them
}

func newVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that every article can be found, and repair lists", Long: verifyHelp,
		Example: `  echosieve index verify --config echosieve.yaml --repair`,
		Args:    command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	repair := cmd.Flags().Bool("repair", false, "add articles to the lists that lack them")
	config.AddFlags(cmd.Flags(), "redis", "window", "recipe", "detection")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		index, err := open(cmd)
		if err != nil {
			return err
		}
		defer index.client.Close()
		v, err := verify(cmd, index, *repair)
		if err != nil {
			return err
		}
		if *asJSON {
			err = command.PrintJSON(cmd.OutOrStdout(), v)
		} else {
			out := &printer{w: cmd.OutOrStdout()}
			out.line("%d articles, %d missing in a block list, %d repaired, %d damaged fields", v.Articles,
				v.Unlisted, v.Repaired, v.Damaged)
			out.line("%d fingerprints in block lists, %d without an entry", v.Fingerprints, v.WithoutEntry)
			err = out.err
		}
		if err == nil && (v.Unlisted > v.Repaired || v.Damaged > 0) {
			err = &command.AnswerError{Text: "the index is not whole; see above"}
		}
		return err
	}
	return cmd
}

func verify(cmd *cobra.Command, index *opened, repair bool) (v verified, err error) {
	ctx := cmd.Context()
	err = index.scan(ctx, cmd.ErrOrStderr(), func(k admin.Keys) error {
		articles, damaged, err := k.Articles(ctx)
		if err != nil {
			return err
		}
		unlisted, err := index.Unlisted(ctx, articles)
		if err != nil {
			return err
		}
		v.Articles, v.Damaged, v.Unlisted = v.Articles+int64(len(articles)), v.Damaged+damaged, v.Unlisted+len(unlisted)
		if repair && len(unlisted) > 0 {
			if err := index.Relist(ctx, unlisted); err != nil {
				return err
			}
			v.Repaired += len(unlisted)
		}
		return k.Lists(ctx, func(lists []admin.List) error {
			for _, l := range lists {
				v.Fingerprints += int64(len(l.Fingerprints))
			}
			missing, err := index.Missing(ctx, lists)
			v.WithoutEntry += missing
			return err
		})
	})
	return v, err
}
