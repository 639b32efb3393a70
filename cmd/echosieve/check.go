package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/registry"
	"echosieve/app/service"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/pipeline/page"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/watch"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// checkTimeout bounds all checks of one component.
const checkTimeout = 20 * time.Second

const checkHelp = `Check tests everything that the service needs of Kafka and Redis, reads the dictionaries and the last
records of the input topic. It prints each fault with its remedy, and the scripts in which articles are written. It
changes nothing.

Exit codes: 0 the service could start and work; 1 it could not, or half of the sampled records or more would be dead
letters, or its group's articles are in another index, or another program uses the port of http.listen; 2 the
check itself failed, for example because the configuration is wrong.`

// checkResult is the output of --json.
type checkResult struct {
	CanStart bool           `json:"can_start"`
	Recipe   string         `json:"recipe,omitempty"`
	Findings []diag.Finding `json:"findings"`
}

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check Kafka, Redis and the settings, and print remedies",
		GroupID: groupService,
		Long:    checkHelp,
		Example: `  echosieve check --config echosieve.yaml
  echosieve check --config echosieve.yaml --shadow`,
		Args: command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	addShadowFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		result := check(cmd.Context(), cfg)
		if cmd.Context().Err() != nil { // the servers did not have the time to answer
			return errors.New("interrupted: nothing is said about the servers")
		}
		if *asJSON {
			err = command.PrintJSON(cmd.OutOrStdout(), result)
		} else {
			err = printFindings(cmd.OutOrStdout(), result)
		}
		if err == nil && !result.CanStart {
			err = &command.AnswerError{Text: "do not start the service before the failures above are cured"}
		}
		return err
	}
	return cmd
}

// check runs all checks, one after another, so that the findings come in a fixed order.
func check(ctx context.Context, cfg config.Config) checkResult {
	var result checkResult
	add := func(component string, findings ...diag.Finding) {
		if len(findings) == 0 {
			findings = []diag.Finding{{Severity: diag.OK, Problem: "no fault found"}}
		}
		for _, f := range findings {
			f.Component = component
			result.Findings = append(result.Findings, f)
		}
	}
	made, findings := checkRecipe(cfg)
	if made != nil {
		result.Recipe = made.ID()
	}
	add("recipe", findings...)
	for _, f := range service.Unprotected(cfg) {
		add(f.Component, f)
	}
	found := checkKafka(ctx, cfg)
	schemas := checkRegistry(ctx, cfg)
	if schemas != nil {
		add(registry.Component, schemas...)
	}
	fault := "" // why the checks that need Kafka and the recipe are skipped
	switch {
	case made == nil:
		fault = "the dictionaries have a fault"
	case slices.ContainsFunc(found, failed):
		fault = "Kafka has a fault"
	}
	switch {
	case fault != "":
		found = append(found, skipped("input", fault))
	case slices.ContainsFunc(schemas, failed):
		found = append(found, skipped("input", "the schema registry has a fault"))
	default:
		found = append(found, checkInput(ctx, cfg, made)...)
	}
	add("kafka", found...)
	add("redis", checkRedis(ctx, cfg, result.Recipe, fault)...)

	add("http", service.CheckListen(ctx, cfg.HTTP))

	result.CanStart = true
	for _, f := range result.Findings {
		if f.Severity == diag.Failure {
			result.CanStart = false
		}
	}
	return result
}

func checkRecipe(cfg config.Config) (*recipe.Recipe, []diag.Finding) {
	made, err := recipe.Load(cfg.RecipeConfig())
	if err != nil {
		return nil, []diag.Finding{{
			Severity: diag.Failure, Subject: "dictionaries", Problem: err.Error(),
			Remedy: "correct the files named under detection",
		}}
	}
	findings := []diag.Finding{{Severity: diag.OK, Subject: "recipe and dictionaries", Problem: made.ID()}}
	return made, append(findings, checkBoilerplate(made.Boilerplate(), time.Now())...)
}

// checkBoilerplate says until when all processes must have the boilerplate table. Whether they had it in time
// cannot be seen here.
func checkBoilerplate(table *page.Boilerplate, now time.Time) []diag.Finding {
	rows, latest := table.Rows()
	f := diag.Finding{Severity: diag.OK, Subject: "boilerplate table",
		Problem: visible.Count(rows, "row") + ", all of them count"}
	switch {
	case rows == 0:
		return nil
	case latest.After(now):
		f.Severity = diag.Info
		f.Problem = fmt.Sprintf("%s; the last begin to count at %s", visible.Count(rows, "row"), latest.Format(time.RFC3339))
		f.Remedy = "restart all processes with this table before then; do not change it later, only add rows"
	}
	return []diag.Finding{f}
}

func failed(f diag.Finding) bool { return f.Severity == diag.Failure }

func checkKafka(ctx context.Context, cfg config.Config) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return tools.Check(ctx, cfg.Kafka)
}

// checkRegistry checks the schema registry; nil without one.
func checkRegistry(ctx context.Context, cfg config.Config) []diag.Finding {
	schemas, asked := cfg.Input.Schemas.(*registry.Client)
	if !asked {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	subject := strings.Join(cfg.Input.Avro.Registry.URLs, ", ")
	err := schemas.Ping(ctx)
	if p := (*diag.Problem)(nil); errors.As(err, &p) {
		return []diag.Finding{p.Finding(diag.Failure, subject)}
	}
	return []diag.Finding{diag.New(diag.OK, subject, "it answers", "")}
}

// skipped is the finding of a check that was not made. A reader would take silence for a good answer.
func skipped(subject, why string) diag.Finding {
	return diag.Finding{Severity: diag.Info, Subject: subject, Problem: "not checked: " + why}
}

// checkRedis checks the servers and the index. fault says why it cannot know which index the group has used;
// empty: it can.
func checkRedis(parent context.Context, cfg config.Config, recipeID, fault string) []diag.Finding {
	ctx, cancel := context.WithTimeout(parent, checkTimeout)
	defer cancel()
	client, err := connection.Connect(cfg.Redis.Options)
	if err != nil {
		return []diag.Finding{{
			Severity: diag.Failure, Subject: "connection", Problem: err.Error(),
			Remedy: "correct the settings under redis",
		}}
	}
	defer client.Close()
	index := cfg.IndexConfig(recipeID)
	found := connection.Check(ctx, client, index, cfg.Redis.WaitReplicas,
		func(ctx context.Context) error { return redisindex.Trial(ctx, client, index) })
	if slices.ContainsFunc(found, failed) {
		fault = "Redis has a fault"
	}
	if fault != "" {
		return append(found, skipped("index", fault))
	}
	x, err := redisindex.New(client, index, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return append(found, diag.New(diag.Failure, "index", err.Error(), "correct the settings under redis"))
	}
	return append(found, checkIndex(parent, cfg, x)...)
}

// printFindings prints each finding with its remedy below it, and the conclusion.
func printFindings(w io.Writer, result checkResult) error {
	t := command.NewTable()
	const most = command.Columns - 17 // component and severity take at most 17 columns with the space behind them
	for _, f := range result.Findings {
		found := f.Problem
		if f.Subject != "" {
			found = f.Subject + ": " + found
		}
		found = text.WrapSoft(visible.Line(found), most)
		if f.Remedy != "" {
			found += "\n" + text.WrapSoft("-> "+visible.Line(f.Remedy), most)
		}
		t.AppendRow(table.Row{f.Component, f.Severity, found})
	}
	out := t.Render() + "\n"
	if result.CanStart {
		out += "The service can start.\n"
	}
	_, err := io.WriteString(w, out)
	return err
}

// checkIndex compares the index of the configuration with the index that the group's commits name.
func checkIndex(ctx context.Context, cfg config.Config, x *redisindex.Index) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	subject, topics := "index "+x.Keys().ID.String(), cfg.Kafka.Topics.Inputs
	archive, err := tools.NewArchive(cfg.Kafka, topics...)
	if err != nil {
		return []diag.Finding{skipped(subject, err.Error())}
	}
	defer archive.Close()
	labels, err := archive.Labels(ctx, cfg.Kafka.Group, topics...)
	if err != nil {
		return []diag.Finding{skipped(subject, "the commits of the group cannot be read: "+err.Error())}
	}
	handover := watch.NewHandover(x.Client(), x.Keys(), cfg.Kafka.Group, cfg.Window)
	lack, err := handover.Lack(ctx, labels)
	gaps, gapErr := handover.Gaps(ctx, labels)
	switch {
	case errors.Join(err, gapErr) != nil:
		return []diag.Finding{skipped(subject, errors.Join(err, gapErr).Error())}
	case len(gaps) > 0:
		return []diag.Finding{diag.New(diag.Info, subject, "it was filled, and another index has decided since ("+
			x.Keys().ID.Compare(lack.Other)+"): the service stores that first when it starts with these settings", "")}
	case lack != nil:
		return []diag.Finding{diag.New(diag.Failure, subject, lack.Text(x.Keys().ID),
			watch.Remedy(cfg.IsShadow(), x.Keys().ID, lack.Other))}
	case len(labels) == 0:
		return []diag.Finding{
			diag.New(diag.OK, subject, fmt.Sprintf("the group %s has committed nothing yet", cfg.Kafka.Group), "")}
	}
	return []diag.Finding{diag.New(diag.OK, subject, "it has what the group has decided", "")}
}
