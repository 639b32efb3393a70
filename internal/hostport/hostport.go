// Package hostport checks addresses that stand in settings. Kafka and Redis share it.
package hostport

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Check says what is wrong with an address of the form host:port; defaultPort is the port that is suggested where there is
// none. The address is quoted, unless it may hold a password.
func Check(addr, defaultPort string) error {
	if strings.Contains(addr, "@") || strings.Contains(addr, "://") {
		return errors.New("must be host:port, without scheme, user or password")
	}
	host, port, err := net.SplitHostPort(addr)
	if n, notNumber := strconv.ParseUint(port, 10, 16); err == nil && notNumber == nil && n > 0 && host != "" {
		return nil
	}
	if addr != "" && !strings.ContainsAny(addr, ":[]") {
		return fmt.Errorf("has %q without a port; did you mean %s?", addr, net.JoinHostPort(addr, defaultPort))
	}
	return fmt.Errorf("has %q, must be host:port such as localhost:%s or [::1]:%[2]s", addr, defaultPort)
}
