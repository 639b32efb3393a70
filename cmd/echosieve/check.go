package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"echosieve/consumer"
	"echosieve/internal/diag"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
)

// checkTimeout bounds the questions to one component.
const checkTimeout = 20 * time.Second

const checkHelp = `Check asks Kafka and Redis everything that the service will need and reads the dictionaries, then says what
is wrong and what to do about it. It changes nothing.

Exit codes: 0 the service could start; 1 it could not; 2 the check itself failed, for example because the
configuration is wrong.`

// checkResult is what --json prints.
type checkResult struct {
	CanStart bool           `json:"can_start"`
	Recipe   string         `json:"recipe,omitempty"`
	Findings []diag.Finding `json:"findings"`
}

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Say what is wrong with Kafka, Redis and the dictionaries, and what to do",
		GroupID: groupService,
		Long:    checkHelp,
		Example: `  echosieve check --config echosieve.yaml`,
		Args:    noArgs,
	}
	asJSON := addJSONFlag(cmd)
	addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		result := check(cmd.Context(), cfg)
		if *asJSON {
			err = printJSON(cmd.OutOrStdout(), result)
		} else {
			err = printFindings(cmd.OutOrStdout(), result)
		}
		if err == nil && !result.CanStart {
			err = &answerError{"the service could not start; see above"}
		}
		return err
	}
	return cmd
}

// check asks everything, the ones after another: a report in a fixed order is worth the wait.
func check(ctx context.Context, cfg Config) checkResult {
	var result checkResult
	add := func(component string, findings ...diag.Finding) {
		if len(findings) == 0 {
			findings = []diag.Finding{{Severity: diag.OK, Problem: "nothing to complain about"}}
		}
		for _, f := range findings {
			f.Component = component
			result.Findings = append(result.Findings, f)
		}
	}
	id, findings := checkRecipe(cfg)
	result.Recipe = id
	add("recipe", findings...)
	for _, f := range unprotected(cfg) {
		add(f.Component, f)
	}
	add("kafka", checkKafka(ctx, cfg)...)
	add("redis", checkRedis(ctx, cfg, id)...)

	result.CanStart = true
	for _, f := range result.Findings {
		if f.Severity == diag.Failure {
			result.CanStart = false
		}
	}
	return result
}

func checkRecipe(cfg Config) (string, []diag.Finding) {
	recipe, err := recipe.Load(cfg.recipe())
	if err != nil {
		return "", []diag.Finding{{
			Severity: diag.Failure, Subject: "dictionaries", Problem: err.Error(),
			Remedy: "correct the files named under detection",
		}}
	}
	return recipe.ID(), []diag.Finding{{Severity: diag.OK, Subject: "recipe and dictionaries", Problem: recipe.ID()}}
}

func checkKafka(ctx context.Context, cfg Config) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return consumer.Check(ctx, cfg.Kafka)
}

func checkRedis(ctx context.Context, cfg Config, recipeID string) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client, err := redisindex.Connect(cfg.Redis.Options)
	if err != nil {
		return []diag.Finding{{
			Severity: diag.Failure, Subject: "connection", Problem: err.Error(), Remedy: "correct the settings under redis",
		}}
	}
	defer client.Close()
	found := redisindex.Check(ctx, client, cfg.index(recipeID))
	found = append(found, redisindex.CheckReplicas(ctx, client, cfg.Redis.Options)...)
	if slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Severity == diag.Failure }) {
		// Servers of another kind than the settings say explain whatever went wrong.
		if modes := redisindex.CheckMode(ctx, cfg.Redis.Options); len(modes) > 0 {
			found = modes
		}
	}
	return found
}

// printFindings prints a table, the problems among them with what to do.
func printFindings(w io.Writer, result checkResult) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 3, WidthMax: 40, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, WidthMax: 48, WidthMaxEnforcer: text.WrapSoft},
		{Number: 5, WidthMax: 48, WidthMaxEnforcer: text.WrapSoft},
	})
	t.AppendHeader(table.Row{"component", "", "subject", "what was found", "what to do"})
	for _, f := range result.Findings {
		t.AppendRow(table.Row{f.Component, f.Severity, f.Subject, f.Problem, f.Remedy})
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	if !result.CanStart {
		return nil
	}
	_, err := fmt.Fprintln(w, "The service can start.")
	return err
}
