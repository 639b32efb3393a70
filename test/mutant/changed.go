package mutant

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// Changed returns the files, by their whole paths, that differ from the commit where the branch main was
// left. dir is in the checkout. Without git, or without that branch, it returns none.
func Changed(ctx context.Context, dir string) map[string]bool {
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	changed := map[string]bool{}
	top := git("rev-parse", "--show-toplevel")
	for _, main := range []string{"origin/main", "main"} {
		base := git("merge-base", "HEAD", main)
		if base == "" {
			continue
		}
		for file := range strings.Lines(git("diff", "--name-only", base)) {
			changed[filepath.Join(top, strings.TrimSpace(file))] = true
		}
	}
	return changed
}
