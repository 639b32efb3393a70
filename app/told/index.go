package told

import (
	"context"
	"log/slog"

	"echosieve/app/config"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
)

// Open returns the recipe of a configuration and its index: see OpenIndex.
func Open(ctx context.Context, cfg config.Config) (*recipe.Recipe, *redisindex.Index, error) {
	made, err := cfg.LoadRecipe()
	if err != nil {
		return nil, nil, err
	}
	index, err := OpenIndex(ctx, cfg, made)
	return made, index, err
}

// OpenIndex opens the index of a configuration with its recipe, to read it. An error says at once what is wrong with
// the servers. The caller closes Client of the index.
func OpenIndex(ctx context.Context, cfg config.Config, made *recipe.Recipe) (*redisindex.Index, error) {
	client, err := connection.Connect(cfg.Redis.Options)
	if err != nil {
		return nil, err
	}
	index, err := redisindex.New(client, cfg.IndexConfig(made.ID()), nil, slog.New(slog.DiscardHandler), nil)
	if err == nil {
		err = connection.Explain(connection.Ping(ctx, client), client, cfg.Redis.Namespace)
	}
	if err != nil {
		_ = client.Close() // nothing was written
		return nil, err
	}
	return index, nil
}
