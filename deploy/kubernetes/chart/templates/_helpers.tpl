{{- define "inferflux.labels" -}}
app.kubernetes.io/name: inferflux
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
