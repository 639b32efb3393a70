package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/keyspace"
)

// Execute sends a pipeline and returns the first error of any of its commands. A missing key is no error.
func Execute(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(ctx)
	return FirstError(cmds, err)
}

// FirstError returns the first error of a pipeline's commands, with the key if the value there is the cause. A missing key is no error.
func FirstError(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		if e := cmd.Err(); e != nil && !errors.Is(e, redis.Nil) {
			return withKey(cmd, e)
		}
	}
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// hiddenArg is where store.lua and restore.lua take the digest of a hidden entry; the other scripts have fewer arguments.
const hiddenArg = 9

// withKey adds the key to an error whose cause is the value that the command found there.
func withKey(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := KeyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint := args[4].(string)
		fields := []string{fingerprint, fingerprint + string(args[5].([]byte))}
		if len(args) > hiddenArg {
			fields = append(fields, fingerprint+string(args[hiddenArg].([]byte)))
		}
		return &keyspace.DamagedError{Key: name, Fields: fields}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"), strings.Contains(text, "increment or decrement would overflow"):
		return &keyspace.KeyError{Key: name, Err: err}
	}
	return err
}

// KeyOf is the key of a command. Every command of the index has one key.
func KeyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}
