-- Argo CD runs this without the libraries string, io and os. Written by `make generate` from hack/gitops/health.lua.
local status = obj.status or {}
local metadata = obj.metadata or {}
local conditions = {}
local last
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type or ""] = condition
  if condition.message ~= nil and condition.message ~= "" then
    last = condition.message
  end
end

local function holds(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

local function explain(kind)
  local condition = conditions[kind] or {}
  if condition.message ~= nil and condition.message ~= "" then
    return condition.message
  end
  return condition.reason
end

if metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "it is being deleted"}
end

local off = {}
for _, word in ipairs({"", "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "0"}) do
  off[word] = true
end
local paused = (metadata.annotations or {})["nimops.nim/paused"] or ""
if not off[paused] or holds("Paused") then
  return {status = "Suspended", message = explain("Paused") or "the annotation nimops.nim/paused is set"}
end

-- The CRDs give a resource without a status the observedGeneration -1. NVIDIA's operators set none.
local seen = status.observedGeneration or 0
if next(conditions) == nil and (seen < 0 or status.state == nil) then
  return {status = "Progressing", message = "the operator has not reconciled it yet"}
end
if seen <= 0 then
  seen = (conditions.Ready or {}).observedGeneration or 0
end
if seen > 0 and seen < (metadata.generation or 0) then
  return {status = "Progressing", message = "the operator has not reconciled its current spec yet"}
end

if holds("Stalled") then
  return {status = "Degraded", message = explain("Stalled")}
end
if holds("Reconciling") then
  return {status = "Progressing", message = explain("Reconciling")}
end
if status.state == "Failed" or holds("Failed") then
  return {status = "Degraded", message = holds("Failed") and explain("Failed") or last or "Failed"}
end
if holds("Error") and conditions.Error.reason == "ReconcileFailed" then
  return {status = "Degraded", message = explain("Error")}
end
if status.state == "ignored" then
  return {status = "Degraded", message = explain("Ready") or "another ClusterPolicy is active"}
end
if status.state == "disabled" then
  return {status = "Suspended", message = explain("Error") or "drivers are not installed by NVIDIADrivers"}
end
if holds("Ready") or status.state == "Ready" or status.state == "ready" then
  return {status = "Healthy", message = explain("Ready") or ""}
end
if (conditions.Ready or {}).reason == "ScaledToZero" then
  return {status = "Healthy", message = explain("Ready")}
end
return {status = "Progressing", message = holds("Error") and explain("Error") or explain("Ready") or last or status.state}
