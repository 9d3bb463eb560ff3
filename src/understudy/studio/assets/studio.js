// The page's own behaviour: fields that go with a kind, a run's progress, versions in step, a download's address.
"use strict";

function showFields(form) {
  const kind = form.querySelector("[data-kind]").value;
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = !field.dataset.for.split(" ").includes(kind);
  }
}

function showAllFields(root) {
  for (const form of root.querySelectorAll("[data-kinds]")) showFields(form);
}

function follow(section) {
  const bar = document.getElementById("progress");
  const words = document.getElementById("progress-words");
  const stream = new EventSource(section.dataset.events);
  stream.addEventListener("progress", (event) => {
    const note = JSON.parse(event.data);
    if (!note.phase) return;
    if (note.of) bar.value = Math.min(1, note.done / note.of);
    const parts = [note.phase + (note.of > 1 ? " " + note.done + "/" + note.of : ""), note.spent];
    if (note.left) parts.push(words.dataset.left.replace("{seconds}", Math.ceil(note.left)));
    words.textContent = parts.join(" · ");
  });
  stream.addEventListener("end", () => { stream.close(); location.reload(); });
}

function keepDownload(link) {
  const form = link.closest("form");
  form.addEventListener("input", () => {
    link.href = link.dataset.download + "?" + new URLSearchParams(new FormData(form));
  });
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-kind]")) showFields(event.target.closest("form"));
});

document.addEventListener("htmx:afterSettle", () => {
  showAllFields(document);
  const status = document.getElementById("status");
  if (status.dataset.newVersion) {
    for (const field of document.querySelectorAll("[data-version]")) field.value = status.dataset.newVersion;
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  const summary = event.detail.elt.querySelector && event.detail.elt.querySelector("summary");
  if (event.detail.elt.matches("details.column") && summary) summary.focus();
});

document.addEventListener("htmx:beforeRequest", () => {
  document.getElementById("message").textContent = "";
});

document.addEventListener("DOMContentLoaded", () => {
  showAllFields(document);
  const section = document.querySelector("[data-events]");
  if (section) follow(section);
  const link = document.querySelector("[data-download]");
  if (link) keepDownload(link);
});
