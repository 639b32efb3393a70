package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// silent swallows what go-redis would print by itself.
type silent struct{}

// Printf implements the logger of go-redis.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }
