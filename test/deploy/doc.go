// Package deploy checks what is shipped to run Echosieve with: container image, compose file, alerts, dashboard,
// and the documentation that goes with them. It holds tests only.
package deploy
