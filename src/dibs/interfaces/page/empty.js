// A workspace in which nothing happened yet: what to do next, by what is installed here.
import { html } from "./lib.js";
import { S } from "./store.js";
import { Command } from "./parts.js";

const COMMANDS = { claude: "claude", codex: "codex", gemini: "gemini", copilot: "copilot", opencode: "opencode" };

const Step = ({ text, command, act }) => html`
  <li>
    <span>${text}</span>
    <div class="cmd"><${Command} text=${command} act=${act} /></div>
  </li>
`;

/** Where hooks are installed an agent appears as soon as it starts; else they come first. */
export function Empty({ act, view }) {
  const clients = S.me?.hooks || [];
  const ready = clients.length > 0;
  return html`
    <div class="mt">
      <h2>No agents yet</h2>
      <p>
        ${ready
          ? `The hooks for ${clients.join(", ")} are installed: an agent appears here as soon as it starts. `
          : "As soon as an agent edits a file, claims a path or takes a task, it appears here. "}
        No reload is needed.
      </p>
      <ol>
        ${ready
          ? html`
              <${Step}
                text="Start an agent in this repository, in any terminal."
                command=${COMMANDS[clients[0]] || clients[0]}
                act=${act}
              />
            `
          : html`
              <${Step}
                text="Install the hooks: for your clients and for git."
                command="dibs init --clients claude,codex"
                act=${act}
              />
            `}
        <${Step} text="Check that each guard refuses a forbidden write." command="dibs doctor" act=${act} />
        <${Step} text="Or watch a dozen agents at work first." command="dibs demo --serve" act=${act} />
      </ol>
      ${view.id === "overview" && html`
        <p class="c3">
          ${S.seq === 1 ? "1 event" : `${S.seq} events`} so far: <a href="#/log">the log</a>. Work can wait here
          for the first agent, too: <a href="#/tasks">add a task</a>.
        </p>
      `}
    </div>
  `;
}
