package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// checker checks one configuration. Its JSON is the output of --json.
type checker struct {
	CanStart bool           `json:"can_start"`
	Recipe   string         `json:"recipe,omitempty"`
	Findings []diag.Finding `json:"findings"`
	cfg      config.Config
}

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check Kafka, Redis and the settings, and print remedies",
		Long:  checkHelp,
		Example: `  echosieve check --config echosieve.yaml
  echosieve check --config echosieve.yaml --shadow`,
		Args: command.NoArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	config.AddShadowFlag(cmd.Flags(), shadowFlag)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		c := checker{CanStart: true, cfg: cfg}
		c.all(cmd.Context())
		if cmd.Context().Err() != nil { // the servers did not have the time to answer
			return errors.New("interrupted: nothing is said about the servers")
		}
		err := command.Print(cmd, *asJSON, c, c.text)
		if err == nil && !c.CanStart {
			err = &command.AnswerError{Text: "do not start the service before the failures above are cured"}
		}
		return err
	})
}

// check adds the findings of a check of a component, and says whether the service could start with them.
func (c *checker) check(ctx context.Context, component string, check func(context.Context) []diag.Finding) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := check(ctx)
	if len(found) == 0 && !slices.ContainsFunc(c.Findings, func(f diag.Finding) bool { return f.Component == component }) {
		found = []diag.Finding{diag.New(diag.OK, "", "no fault found", "")}
	}
	ok = true
	for _, f := range found {
		f.Component, ok = component, ok && f.Severity != diag.Failure
		c.Findings = append(c.Findings, f)
	}
	c.CanStart = c.CanStart && ok
	return ok
}

// add adds findings that are known.
func (c *checker) add(component string, findings ...diag.Finding) {
	c.check(context.Background(), component, func(context.Context) []diag.Finding { return findings })
}

// all runs all checks, one after another, so that the findings come in a fixed order.
func (c *checker) all(ctx context.Context) {
	cfg, fault := c.cfg, "" // why the checks that need Kafka and the recipe are skipped
	made, err := recipe.Load(cfg.RecipeConfig())
	if err != nil {
		fault = "the dictionaries have a fault"
		c.add("recipe", diag.New(diag.Failure, "dictionaries", err.Error(), "correct the files named under detection"))
	} else {
		c.Recipe = made.ID()
		c.add("recipe", diag.New(diag.OK, "recipe and dictionaries", c.Recipe, ""))
	}
	for _, f := range service.Unprotected(cfg) {
		c.add(f.Component, f)
	}
	noInput := ""
	if schemas, asked := cfg.Input.Schemas.(*registry.Client); asked && !c.check(ctx, registry.Component,
		func(ctx context.Context) []diag.Finding { return checkRegistry(ctx, cfg, schemas) }) {
		noInput = "the schema registry has a fault"
	}
	if !c.check(ctx, "kafka", func(ctx context.Context) []diag.Finding { return tools.Check(ctx, cfg.Kafka) }) {
		fault = cmp.Or(fault, "Kafka has a fault")
	}
	if noInput = cmp.Or(fault, noInput); noInput != "" {
		c.add("kafka", skipped("input", noInput))
	} else {
		c.check(ctx, "kafka", func(ctx context.Context) []diag.Finding { return checkInput(ctx, cfg, made) })
	}
	c.redis(ctx, fault)
	c.add("http", service.CheckListen(ctx, cfg.HTTP))
}

// redis checks the servers and the index. fault says why it cannot know which index the group has used; empty: it can.
func (c *checker) redis(ctx context.Context, fault string) {
	const component, remedy = "redis", "correct the settings under redis"
	client, err := connection.Connect(c.cfg.Redis.Options)
	if err != nil {
		c.add(component, diag.New(diag.Failure, "connection", err.Error(), remedy))
		return
	}
	defer client.Close()
	index := c.cfg.IndexConfig(c.Recipe)
	if !c.check(ctx, component, func(ctx context.Context) []diag.Finding {
		return connection.Check(ctx, client, index, c.cfg.Redis.WaitReplicas,
			func(ctx context.Context) error { return redisindex.Trial(ctx, client, index) })
	}) {
		fault = "Redis has a fault"
	}
	if fault != "" {
		c.add(component, skipped("index", fault))
		return
	}
	x, err := redisindex.New(client, index, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		c.add(component, diag.New(diag.Failure, "index", err.Error(), remedy))
		return
	}
	c.check(ctx, component, func(ctx context.Context) []diag.Finding {
		return []diag.Finding{checkIndex(ctx, c.cfg, x)}
	})
}

func checkRegistry(ctx context.Context, cfg config.Config, schemas *registry.Client) []diag.Finding {
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

// text has each finding with its remedy below it, and the conclusion.
func (c *checker) text() string {
	t := command.NewTable()
	const most = command.Columns - 17 // component and severity take at most 17 columns with the space behind them
	for _, f := range c.Findings {
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
	if c.CanStart {
		return t.Render() + "\nThe service can start.\n"
	}
	return t.Render() + "\n"
}

// checkIndex compares the index of the configuration with the index that the group's commits name.
func checkIndex(ctx context.Context, cfg config.Config, x *redisindex.Index) diag.Finding {
	subject, topics := "index "+x.Keys().ID.String(), cfg.Kafka.Topics.Inputs
	archive, err := tools.NewArchive(cfg.Kafka, topics...)
	if err != nil {
		return skipped(subject, err.Error())
	}
	defer archive.Close()
	labels, err := archive.Labels(ctx, cfg.Kafka.Group, topics...)
	if err != nil {
		return skipped(subject, "the commits of the group cannot be read: "+err.Error())
	}
	handover := watch.NewHandover(x.Client(), x.Keys(), cfg.Kafka.Group, cfg.Window)
	lack, err := handover.Lack(ctx, labels)
	switch {
	case err != nil:
		return skipped(subject, err.Error())
	case lack != nil && len(lack.Gaps) > 0:
		return diag.New(diag.Info, subject, "it was filled, and another index has decided since ("+
			x.Keys().ID.Compare(lack.Other)+"): the service stores that first when it starts with these settings", "")
	case lack != nil:
		return diag.New(diag.Failure, subject, lack.Text(x.Keys().ID), watch.Remedy(cfg.IsShadow(), x.Keys().ID, lack.Other))
	case len(labels) == 0:
		return diag.New(diag.OK, subject, fmt.Sprintf("the group %s has committed nothing yet", cfg.Kafka.Group), "")
	}
	return diag.New(diag.OK, subject, "it has what the group has decided", "")
}
