// Who is signed in: `GET me`; a signed cookie that scripts cannot read.
import { computed, signal } from "../../vendor/ui.js";
import { get, post, Unreachable } from "./api.js";

const RETRY_MS = 2000;

/** The response of `me`; undefined until it is known. */
export const me = signal(undefined);
export const isSignedIn = computed(() => ["read", "admin"].includes(me.value?.role));
export const isAdmin = computed(() => me.value?.role === "admin");
/** Why the login page is shown, if it is not the first visit. */
export const notice = signal("");

export async function load() {
  try {
    me.value = await get("me");
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    setTimeout(load, RETRY_MS);
  }
}

export async function signIn(token) {
  await post("login", { token });
  notice.value = "";
  await load();
}

export async function signOut() {
  await post("logout");
  notice.value = "You have signed out.";
  await load();
}

/** Whether the server still accepts the cookie; nothing is known while it is away. */
export async function checkSession() {
  try {
    const { role } = await get("me");
    if (!role) expire();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
  }
}

/** The server no longer accepts the cookie. */
export function expire() {
  if (!isSignedIn.value) return;
  notice.value = "Your session has ended. Sign in to continue.";
  me.value = { ...me.value, role: null };
}
