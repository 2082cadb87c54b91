// Reads the REST interface. Addresses are relative to the page, so that it may be mounted below a prefix.

import { parseJSON } from './names.js';

const base = new URL('./', document.baseURI);
export const address = (path) => new URL(`ws/v1/${path}`, base);
export const escape = (name) => encodeURIComponent(encodeURIComponent(name)); // the server decodes a name twice (OBS-13)
export const partitionPath = (name) => `partition/${escape(name)}`;

export class RestError extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(address(path), { ...options, headers: { Accept: 'application/json', ...options.headers }, credentials: 'same-origin' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RestError(0, 'The scheduler does not answer.');
  }
  const text = await response.text();
  let body;
  try { body = parseJSON(text); } catch { body = undefined; }
  if (!response.ok) throw new RestError(response.status, body?.Message ?? body?.message ?? (text.trim() || response.statusText), body);
  if (body === undefined) throw new RestError(response.status, 'The answer is no JSON.');
  return body;
}

export const get = (path, signal) => request(path, { signal });
export const post = (path, body, type, headers = {}) => request(path, { method: 'POST', body, headers: { 'Content-Type': type, ...headers } });

export const put = (path) => request(path, { method: 'PUT' });

// optional is undefined where the server has no such path, or no such thing.
export async function optional(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.status === 404 || error.status === 405 || error.status === 501) return undefined;
    throw error;
  }
}

export const mayChange = document.querySelector('meta[name="canopy-admin"]')?.content === 'yes';
