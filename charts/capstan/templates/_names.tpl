{{/*
The names and labels of the chart. Release names have at most 53 characters, so names fit in 63.
A name may look like a number, for example 123: toYaml puts it in quotes then.
*/}}

{{/* The name of the operator's objects. */}}
{{- define "capstan.name" -}}
{{ .Release.Name }}-operator
{{- end }}

{{/*
The name of objects without a namespace. Two operators of the whole cluster would compete, so Helm
refuses the second one if it has the same name. Operators of single namespaces may have the same
name.
*/}}
{{- define "capstan.clusterName" -}}
{{ include "capstan.name" . }}{{ if .Values.namespaces }}-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "capstan.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "capstan.name" .) | toYaml }}
{{- end }}

{{/* The label that selects the operator's pods. */}}
{{- define "capstan.selector" -}}
app.kubernetes.io/name: {{ include "capstan.name" . }}
{{- end }}

{{/*
The labels of the operator in every release, whatever its name. capstanctl finds operators by them.
Selectors cannot change, so these labels are not part of capstan.selector.
*/}}
{{- define "capstan.role" -}}
app.kubernetes.io/part-of: capstan
app.kubernetes.io/component: operator
{{- end }}

{{- define "capstan.labels" -}}
{{ include "capstan.selector" . }}
{{ include "capstan.role" . }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
