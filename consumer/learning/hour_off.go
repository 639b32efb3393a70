//go:build !crashpoints

package learning

import "time"

// hour is the grid of begins.
const hour = time.Hour
