{{- define "instance" }}app.kubernetes.io/instance: {{ .Release.Name }}{{ end }}
{{- define "labels" }}{app.kubernetes.io/name: {{ .Release.Name }}, {{ include "instance" . }}}{{ end }}
{{- /* Deployments by their names: the service, and the role of stories beside it. */}}
{{- define "roles" }}
{{ .Release.Name }}: {args: [run], replicas: {{ .Values.replicas }}, keda: {{ .Values.keda.enabled }}, job: echosieve}
{{- with .Values.stories }}
{{- if .enabled }}
{{ $.Release.Name }}-stories: {args: {{ concat (list "stories") .args | toJson }}, replicas: {{ .replicas }}, job: echosieve-stories}
{{- end }}
{{- end }}
{{- end }}
{{- define "image" }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- /* The name of the settings holds their hash: changed settings are another ConfigMap, and Kubernetes replaces the pods. */}}
{{- define "settings" }}{{ .Release.Name }}-{{ .Values.settings | toYaml | sha256sum | trunc 10 }}{{ end }}

{{- /* What the pods of the service and of the Job have in common. */}}
{{- define "pod" }}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
# For a Service with a cluster IP, Kubernetes would set ECHOSIEVE_PORT, and the program refuses unknown settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: settings
    configMap: {name: {{ include "settings" . }}}
  {{- range $secret, $_ := .Values.fileSecrets }}
  - name: {{ $secret }}
    secret: {secretName: {{ $secret }}}
  {{- end }}
  {{- with .Values.extraVolumes }}{{ toYaml . | nindent 2 }}{{ end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $.Values $field }}
{{ $field }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Labels and annotations of pods, which are called .name. */}}
{{- define "podMetadata" }}
labels: {{ merge (dict "app.kubernetes.io/name" .name "app.kubernetes.io/instance" .root.Release.Name) .root.Values.podLabels | toJson }}
{{- with .root.Values.podAnnotations }}
annotations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "container" }}
name: echosieve
image: {{ include "image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: {name: {{ .Values.secret }}, optional: true}
env:
  - {name: GOMEMLIMIT, value: {{ .Values.goMemoryLimit }}}
  {{- if .Values.rackFromZone }}
  - name: ECHOSIEVE_KAFKA_RACK
    valueFrom: {fieldRef: {fieldPath: "metadata.labels['topology.kubernetes.io/zone']"}}
  {{- end }}
  {{- with .Values.extraEnv }}{{ toYaml . | nindent 2 }}{{ end }}
resources: {{ toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: settings, mountPath: /etc/echosieve, readOnly: true}
  {{- range $secret, $folder := .Values.fileSecrets }}
  - {name: {{ $secret }}, mountPath: {{ $folder }}, readOnly: true}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}

{{- /* What the pods may reach: names of hosts, Kafka and Redis. */}}
{{- define "egress" }}
    - to:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
      ports:
        - {protocol: UDP, port: 53}
        - {protocol: TCP, port: 53}
    - ports:
        {{- range .Values.networkPolicy.ports }}
        - {protocol: TCP, port: {{ . }}}
        {{- end }}
{{- end }}
