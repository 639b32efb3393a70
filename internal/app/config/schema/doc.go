// Package schema makes a configuration of one struct with default values: command line flags, environment variables, a strict
// YAML file, a reference file with all defaults, and a printout.
//
// A key's name is the dotted path of the `setting` tags on the way to its field ("kafka.brokers"). The same name
// gives the flag (--kafka.brokers) and the environment variable (ECHOSIEVE_KAFKA_BROKERS). A later source wins:
//
//	default < YAML file < environment < flag
//
// The tags of a field:
//
//	setting:"name"     the last part of the key. A field without this tag is no setting
//	setting:",squash"  of a struct: its keys belong to the section of its parent
//	help:"..."         one sentence for the reference, the flags and the table of the docs. Every setting has one
//	range:"1..8"       the allowed values of a number: intervals and single values, separated by commas
//	secret:"true"      the value is never printed and has no flag. A second key, name_file, names a file that holds the value
//
// An integer whose name ends in "_bytes" takes units ("64MiB").
//
// An unknown key in the file is an error, and so is an unknown variable with the prefix of the environment. All mistakes of one source
// are reported together.
package schema
