// Package helm holds main.go, which renders the chart. Its modules are in helm.mod: Helm brings Kubernetes'
// client along, which the go.mod of the service shall not name.
package helm
