// Package setup tests .ci/setup, the script that installs what a machine lacks before the project is built or tested.
package setup
