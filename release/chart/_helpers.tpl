{{- define "nimops.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* The labels that Helm recommends, besides name and managed-by, which all objects have. */}}
{{- define "nimops.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "nimops.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "nimops.placement" -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $.Values $field }}
{{ $field }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Whether the NeMo services are served: any text if they are. */}}
{{- define "nimops.nemo" -}}
{{- $given := (.Values.nemo | default dict).enabled }}
{{- if kindIs "bool" $given }}{{ if $given }}true{{ end }}{{ else if not .Values.hardened }}true{{ end }}
{{- end }}

{{- /* The variables of .Values.env, and of overlays: those of hardened that it does not set, of gpu and of without-nemo. */}}
{{- define "nimops.env" -}}
{{- $env := deepCopy .Values.env }}
{{- if .Values.gpu.enabled }}
{{- $env = merge (fromJson `@GPU_ENV@`) $env }}
{{- with .Values.gpu.namespace }}{{ $_ := set $env "@GPU_NAMESPACE@" . }}{{ end }}
{{- end }}
{{- if not (include "nimops.nemo" .) }}
{{- $env = merge (fromJson `@WITHOUT_NEMO_ENV@`) $env }}
{{- end }}
{{- if .Values.hardened }}
{{- range $name, $value := fromJson `@HARDENED_ENV@` }}
{{- if not (hasKey $env $name) }}{{ $_ := set $env $name $value }}{{ end }}
{{- end }}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* The paths of our resources that the operator may list. */}}
{{- define "nimops.resources" -}}
{{- $paths := list }}
{{- $resources := list @RESOURCES@ }}
{{- if not (include "nimops.nemo" .) }}
{{- $resources = without $resources @NEMO_RESOURCES@ }}
{{- end }}
{{- range $resource := $resources }}
{{- $parts := splitList "/" $resource }}
{{- range $namespace := $.Values.watchNamespaces | default (list "") }}
{{- $scope := ternary (printf "namespaces/%s/" $namespace) "" (ne $namespace "") }}
{{- $paths = append $paths (printf "/apis/%s/%s/%s%s" (index $parts 0) (index $parts 1) $scope (index $parts 2)) }}
{{- end }}
{{- end }}
{{- if .Values.gpu.enabled }}
{{- $paths = concat $paths (list @GPU_PATHS@) }}
{{- end }}
{{- join " " $paths }}
{{- end }}
