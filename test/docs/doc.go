// Package docs runs the commands that README and the pages of docs print, and compares their outputs in kind.
// It holds tests only.
//
// The table of rows_test.go has a row for each command. A command without a row fails the test, and so does a
// row that no page has. To add a command: print it on its page, and add its row.
package docs
