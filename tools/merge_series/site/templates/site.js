"use strict";
// Two selects in place of the list of links, which stays for whoever runs no script.
(() => {
  const form = document.getElementById("choose");
  if (!form) {
    return;
  }
  const [older, newer] = [document.getElementById("old"), document.getElementById("new")];
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = [Number(older.value), Number(newer.value)].sort((one, other) => one - other);
    const link = document.querySelector(
      `#pairs a[data-old="${chosen[0]}"][data-new="${chosen[1]}"]`,
    );
    if (link) {
      link.click();
    } else {
      document.getElementById("said").textContent = "These are the same; choose two heads.";
    }
  });
})();
