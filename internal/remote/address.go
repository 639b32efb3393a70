package remote

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// CheckAddress returns an error if addr is not host:port. The text of the error ends a sentence that begins with the
// key of the setting. If the port is missing, the error suggests defaultPort. It quotes the address unless
// the address may hold a password.
func CheckAddress(addr, defaultPort string) error {
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
