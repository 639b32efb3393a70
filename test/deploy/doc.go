// Package deploy checks the files that users run Echosieve with: container image, compose file, alerts,
// boards, and their documentation. It holds tests only.
package deploy
