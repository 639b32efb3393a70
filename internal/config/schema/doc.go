// Package schema turns one struct with default values into everything a command needs to be configured:
// command line flags, environment names, a strict YAML reader, a reference file and a printout.
//
// A key's name is the dotted path of the `koanf` tags on the way to its field ("kafka.brokers"). The same name
// gives the flag (--kafka.brokers) and the environment variable (ECHOSIEVE_KAFKA_BROKERS). Later sources win:
//
//	default < YAML file < environment < flag
//
// Tags of a field: `koanf:"name"` (",squash" for a struct whose keys belong to its parent; without a name the
// field is no setting), `help:"One sentence."`, `secret:"true"` (never printed, no flag, and a second key
// name_file that names a file holding it; a field called password in a section is one without being told). An integer whose name ends in "_bytes" takes units ("64MiB").
//
// Whatever is not known is an error: keys in the file, variables with the prefix. All mistakes of a source are
// reported together.
package schema
