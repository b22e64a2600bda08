// Conversations, kept in this browser. One is a tree of messages: editing or regenerating adds a branch, nothing is overwritten.
const name = "inferflux-conversations";
const mostKept = 100;

let all = null;

export function conversations() {
  if (all) return all;
  try {
    all = JSON.parse(localStorage.getItem(name)) || [];
  } catch {
    all = [];
  }
  return all;
}

export function saveConversations() {
  all = conversations().slice(0, mostKept);
  for (; all.length > 0;) {
    try {
      localStorage.setItem(name, JSON.stringify(all));
      return;
    } catch {
      all.pop();  // the browser's room is used up: the oldest goes
    }
  }
  localStorage.removeItem(name);
}

export function newConversation() {
  const out = {id: crypto.randomUUID(), title: "New chat", system: "", nodes: {}, leaf: null, next: 1};
  conversations().unshift(out);
  return out;
}

export function removeConversation(id) {
  all = conversations().filter((each) => each.id !== id);
  saveConversations();
}

// Adds a message below `parent` (null: the first) and makes it the end of the branch that is shown.
export function addMessage(conversation, parent, message) {
  const id = String(conversation.next++);
  conversation.nodes[id] = {...message, parent};
  conversation.leaf = id;
  return id;
}

// The messages from the first to the end of the branch that is shown: [id, message].
export function shownPath(conversation) {
  const out = [];
  for (let id = conversation.leaf; id; id = conversation.nodes[id].parent) out.unshift([id, conversation.nodes[id]]);
  return out;
}

export function siblings(conversation, id) {
  const parent = conversation.nodes[id].parent;
  return Object.keys(conversation.nodes).filter((each) => conversation.nodes[each].parent === parent);
}

// Shows the branch through `id`, as far as it was written last.
export function showBranch(conversation, id) {
  for (;;) {
    const below = Object.keys(conversation.nodes).filter((each) => conversation.nodes[each].parent === id);
    if (below.length === 0) break;
    id = below[below.length - 1];
  }
  conversation.leaf = id;
}
