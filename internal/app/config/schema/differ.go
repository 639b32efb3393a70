package schema

import "reflect"

// Differences returns the names of the keys whose values differ between two configurations, in the order of the keys. Secrets are
// compared, too.
func (s *Schema) Differences(a, b any) []string {
	var names []string
	others := s.valuesOf(b)
	for i, k := range s.valuesOf(a) {
		if !reflect.DeepEqual(k.Default, others[i].Default) {
			names = append(names, k.Name)
		}
	}
	return names
}
