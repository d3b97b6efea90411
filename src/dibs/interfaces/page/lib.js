// What all modules of the page build with: Preact, its hooks, and htm for templates. Text is always text, never markup.
import { h, render, Fragment } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { render, Fragment, useEffect, useLayoutEffect, useRef, useState };
