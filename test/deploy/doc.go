// Package deploy checks the files that users run Echosieve with: container image, compose file, alerts, dashboard, and their documentation. It
// holds tests only.
package deploy
