// The time, for texts such as "3 min ago".
import { signal } from "../../vendor/ui.js";

export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 5000);
