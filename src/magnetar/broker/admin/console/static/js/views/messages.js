import { notice } from "../ui/parts.js";
export const messagesTab = () => notice("", "Not here yet");
