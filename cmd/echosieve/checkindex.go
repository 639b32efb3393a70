package main

import (
	"context"

	"echosieve/consumer"
	"echosieve/internal/app/config"
	"echosieve/internal/app/service"
	"echosieve/internal/base/diag"
	"echosieve/redisindex"
	"echosieve/redisindex/watch"
)

// checkIndex compares the index of the configuration with the index that the group's commits name. If Kafka or Redis does not answer, it says
// nothing: the other checks report the fault.
func checkIndex(ctx context.Context, cfg config.Config, x *redisindex.Index) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	topic := cfg.Kafka.Topics.Input
	archive, err := consumer.NewArchive(cfg.Kafka, topic)
	if err != nil {
		return nil
	}
	defer archive.Close()
	labels, err := archive.Labels(ctx, cfg.Kafka.Group, topic)
	if err != nil {
		return nil
	}
	lack, err := watch.NewHandover(x.Client(), x.Keys(), cfg.Kafka.Group, cfg.Window).Lack(ctx, labels)
	if err != nil || lack == nil {
		return nil
	}
	return []diag.Finding{diag.New(diag.Failure, "index "+x.Keys().ID.String(), lack.Text(x.Keys().ID), service.Cure(cfg).Remedy(x.Keys().ID, lack.Other))}
}
