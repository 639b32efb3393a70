// Package child sets how processes are started that tests must not leave behind.
package child
